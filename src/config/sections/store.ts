/** Where everything durable is kept, how hard the embedded database insists on the disk, and what nodes share. */
import { secretSchema } from "../secret.ts";
import { httpUrl, named, oneOf, section, text, wholeNumber } from "../values.ts";

export const storeDefaults = { synchronous: "full", leaseSeconds: 10, maxConnections: 10, shard: "main" } as const;

export const storeSchema = section({
  synchronous: oneOf(["full", "normal"]).default(storeDefaults.synchronous),
  /** The address of a shared database. It may hold a password, so it is a secret. */
  url: secretSchema.optional(),
  /** How long a node that says nothing counts as alive. */
  leaseSeconds: wholeNumber(2, 300).default(storeDefaults.leaseSeconds),
  /** Connections one node may have to the shared database, beside the one it always has. */
  maxConnections: wholeNumber(2, 200).default(storeDefaults.maxConnections),
  /** This shard's name among several shared databases, each of which holds some agents with all they own. */
  shard: text("the name of this shard").default(storeDefaults.shard),
  /** The addresses of the others, by their names. */
  shards: named(secretSchema).default({}),
  /** A bucket for files, instead of the shared database. */
  s3: section({
    endpoint: httpUrl(),
    bucket: text("the name of a bucket"),
    region: text("the name of a region").default("us-east-1"),
    prefix: text("what all keys begin with").optional(),
    accessKeyId: secretSchema,
    secretAccessKey: secretSchema,
  }).optional(),
}).prefault({});
