/** Reads server-sent events from a body. Calls back once per event with its data, synchronously, without a copy more. */

/** Resolves at the end of the body; rejects where the connection breaks or the callback throws. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onChunk: () => void,
  onData: (data: string) => void,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data: string | undefined;
  const line = (text: string): void => {
    if (text === "") {
      if (data !== undefined) onData(data);
      data = undefined;
    } else if (text.startsWith("data:")) {
      const value = text.charCodeAt(5) === 32 ? text.slice(6) : text.slice(5);
      data = data === undefined ? value : `${data}\n${value}`;
    }
  };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      onChunk();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      let from = 0;
      for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n", from)) {
        line(rest.slice(from, rest.charCodeAt(end - 1) === 13 && end > from ? end - 1 : end));
        from = end + 1;
      }
      rest = from === 0 ? rest : rest.slice(from);
      if (!done) continue;
      if (rest !== "") line(rest.replace(/\r$/, ""));
      line("");
      return;
    }
  } finally {
    // After a failure nothing more is read, so the connection must not wait for a reader.
    reader.cancel().catch(() => {});
  }
}
