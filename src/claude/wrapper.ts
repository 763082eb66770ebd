/**
 * Runs one command so that it outlives whoever started it, and so that its input, output and end are plain files in FOLDER.
 * Start it detached (a session and group of its own), with `in.ndjson` in place and stdio ignored. It exits 0 as the loser
 * of a claim or after the command's end, and 1 if it could not claim (no such folder, disk full, no hard links there).
 */
export function wrapperArgv(folder: string, command: string[]): [string, ...string[]] {
  return ['/bin/sh', '-c', wrapperScript, 'spawngate-run', folder, ...command];
}

// Why it is as it is:
// - Variables begin with `_`: assigning one that came with the environment would change what the command inherits.
// - `command -p`: our own tools come from the system's path, as the task's environment may name any other.
// - `set -C`: a leftover `pid.$$` may be a second name of a claimed `pid`, so it is never written over.
// - Redirections are opened by the (sub)shell itself, so /proc/self is that shell and no process is spent on its identity.
//   Where there is no /proc, `ps` is asked; its clock depends on locale and time zone, hence both are fixed.
// - The command is exec'd by the subshell that wrote line 2: pid and start time stay true.
// - `trap :` and not `trap ''`: an ignored signal would be inherited by the command; a subshell has to set traps anew.
// - A pipeline is waited for as a whole and `tail -f` never ends, so the right side records the status and ends the tail.
//   It signals the group by number: we are in it, so it can't be anybody else's (and if we lead none, nothing happens).
// - A subshell just forked still has its parent's traps and swallows that signal (seen under load), so the left side shows by
//   an empty line that it has got further; `read` takes no byte more than that. No line: we were told to end before we began.
export const wrapperScript: string = `
set -C
identity() {
  _boot=
  if [ -r /proc/self/stat ]; then
    read -r _stat </proc/self/stat
    _pid=\${_stat%% *}
    set -- \${_stat##*) }
    _start=\${20}
    read -r _boot </proc/sys/kernel/random/boot_id
  else
    _pid=$(exec /bin/sh -c 'echo $PPID')
    set -- $(LC_ALL=C TZ=UTC0 command -p ps -o lstart= -p "$_pid")
    _start=$(IFS=_; echo "$*")
    _boot=$(command -p sysctl -n kern.bootsessionuuid 2>/dev/null)
  fi
  echo "$_pid $_start \${_boot:--}"
}

_folder=$1
shift
identity >"$_folder/pid.$$" && command -p ln "$_folder/pid.$$" "$_folder/pid"
_claim=$?
command -p rm -f "$_folder/pid.$$"
[ $_claim -eq 0 ] || { [ -e "$_folder/pid" ]; exit; }

trap : HUP INT TERM
_tail=$(command -pv tail)
case $("$_tail" --version 2>/dev/null) in
  *GNU*) _poll='-s 0.1' ;;
  *) _poll= ;;
esac
{
  echo
  exec "$_tail" -n +1 $_poll -f "$_folder/in.ndjson"
} | {
  trap : HUP INT TERM
  read -r _begun || exit
  (
    identity >>"$_folder/pid" || exit 125
    exec "$@"
  ) >>"$_folder/out.ndjson" 2>>"$_folder/err.log"
  echo $? >|"$_folder/exit.tmp" && command -p mv "$_folder/exit.tmp" "$_folder/exit"
  kill -TERM "-$$"
}
`;
