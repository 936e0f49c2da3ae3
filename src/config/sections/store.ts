/** Where durable data is kept, how the embedded database syncs to disk, and what nodes share. */
import { secretSchema } from "../secret.ts";
import { httpUrl, named, oneOf, section, text, wholeNumber } from "../values.ts";

export const storeDefaults = {
  synchronous: "full",
  leaseSeconds: 10,
  maxConnections: 10,
  shard: "main",
} as const;

export const storeSchema = section({
  synchronous: oneOf(["full", "normal"]).default(storeDefaults.synchronous),
  /** The address of a shared database. It may hold a password, so it is a secret. */
  url: secretSchema.optional(),
  /** How long a silent node counts as alive. */
  leaseSeconds: wholeNumber(2, 300).default(storeDefaults.leaseSeconds),
  /** Connections of one node to the shared database, besides the one it always has. */
  maxConnections: wholeNumber(2, 200).default(storeDefaults.maxConnections),
  /** The name of this shard. Each shard is a shared database with some of the agents and their data. */
  shard: text("the name of this shard").default(storeDefaults.shard),
  /** The addresses of the other shards, by name. */
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
