/** Which bytes a stored file has. */
import type { StoredFile } from "./stored-file.ts";

/** The names of all bytes of a file. */
export const blobsOf = ({ blob, shown }: StoredFile): readonly string[] =>
  shown.as === "reference" || shown.blob === blob ? [blob] : [blob, shown.blob];
