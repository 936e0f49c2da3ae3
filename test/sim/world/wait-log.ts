/** Which agent waited for which, and how long, recorded by the tools that waited. A wait of a dead process has no end here. */
export interface Waited {
  readonly from: string;
  readonly to: string;
  readonly since: number;
  until: number | undefined;
  refused: boolean;
}

export function makeWaitLog(now: () => number) {
  const waited: Waited[] = [];
  return {
    waited: waited as readonly Waited[],
    begin(from: string, to: string): (refused: boolean) => void {
      const one: Waited = { from, to, since: now(), until: undefined, refused: false };
      waited.push(one);
      return (refused) => {
        one.until = now();
        one.refused = refused;
      };
    },
  };
}
