/** Deeper values than any program means: walking one would exhaust the stack of whoever does. */
export const maxDepth = 1000;

/** Whether a value is JSON as it stands: no Date, no undefined, no NaN, nothing too deep, no cycle. */
export function isJsonValue(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      return value === null || (depth < maxDepth && holdsJson(value, depth));
    default:
      return false;
  }
}

function holdsJson(value: object, depth: number): boolean {
  if (Array.isArray(value)) return value.every((item) => isJsonValue(item, depth + 1));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key in value) {
    if (!isJsonValue((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}

/** Whether parsed JSON nests no deeper than `maxDepth`. */
export function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth < maxDepth && Object.values(value).every((item) => isShallow(item, depth + 1));
}
