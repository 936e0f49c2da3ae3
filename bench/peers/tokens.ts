/** The word that marks a message, and that the model repeats in the answer. */
export const tokenOf = (n: number): string => `token-${n}.`;

export const tokensIn = (text: string): readonly string[] => [...new Set(text.match(/token-\d+\./g))];

/** The tokens of a request to the model that no earlier answer in it repeats: what an attentive model answers now. */
export function openTokens(request: { readonly messages: readonly { readonly role: string }[] }): readonly string[] {
  const tokensOf = (isAnswer: boolean): readonly string[] =>
    tokensIn(JSON.stringify(request.messages.filter(({ role }) => (role === "assistant") === isAnswer)));
  const answered = tokensOf(true);
  return tokensOf(false).filter((token) => !answered.includes(token));
}
