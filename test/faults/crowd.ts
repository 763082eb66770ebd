/** Runs the work for each number below `count`, at most five at the same time. */
export async function crowd(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 5 }, worker));
}
