/** Where everything durable is kept, and how hard the embedded database insists on the disk. */
import { secretSchema } from "../secret.ts";
import { oneOf, section } from "../values.ts";

export const storeDefaults = { synchronous: "full" } as const;

export const storeSchema = section({
  synchronous: oneOf(["full", "normal"]).default(storeDefaults.synchronous),
  /** The address of a shared database. It may hold a password, so it is a secret. */
  url: secretSchema.optional(),
}).prefault({});
