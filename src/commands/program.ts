/** How people called this program, for lines that they may copy: npm tells the name of the script that it runs. */
export const program =
  // biome-ignore lint/style/noProcessEnv: it is npm's word, and sets nothing
  process.env.npm_lifecycle_event === 'spawngate' ? 'npm run -s spawngate --' : 'spawngate';
