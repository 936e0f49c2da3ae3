/** Tokens without a price cost an unknown amount. */
export const costText = (dollars: number, tokens: number): string =>
  dollars === 0 && tokens > 0 ? "cost n/a" : `$${dollars.toFixed(4)}`;

/** Clawdbot's form of a price: four decimals below a cent. */
export const formatUsd = (dollars: number): string => `$${dollars.toFixed(dollars >= 0.01 ? 2 : 4)}`;
