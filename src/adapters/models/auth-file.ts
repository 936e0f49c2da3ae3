/** The keys set with `rookery models keys`, in `auth.json` of the home. A new key is used by the next call. */
import { z } from "zod";
import { profileFile } from "./profile-file.ts";

const keys = profileFile<string>({
  field: "keys",
  value: z.string().min(1),
  hint: "Correct the file, or move it away and set the keys again with `rookery models keys add`.",
});

export const readAuthFile = keys.read;
export const writeKey = keys.write;
export const storedKeysIn = keys.follow;
