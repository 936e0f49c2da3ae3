/** Tokens without a price cost an unknown amount. */
export const costText = (dollars: number, tokens: number): string =>
  dollars === 0 && tokens > 0 ? "cost n/a" : `$${dollars.toFixed(4)}`;
