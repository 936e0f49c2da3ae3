/** Reads server-sent events from the chunks of a body. Calls back once per event with its data. */

export interface EventReader {
  /** Calls back for every event that is complete now. */
  take(chunk: Uint8Array): void;
  /** Call it at the end of the body: a last event without an empty line counts too. */
  end(): void;
}

export function eventReader(onData: (data: string) => void): EventReader {
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
  const lines = (more: string): void => {
    rest += more;
    let from = 0;
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n", from)) {
      line(rest.slice(from, rest.charCodeAt(end - 1) === 13 && end > from ? end - 1 : end));
      from = end + 1;
    }
    rest = from === 0 ? rest : rest.slice(from);
  };
  return {
    take: (chunk) => lines(decoder.decode(chunk, { stream: true })),
    end() {
      lines(decoder.decode());
      if (rest !== "") line(rest.replace(/\r$/, ""));
      line("");
    },
  };
}
