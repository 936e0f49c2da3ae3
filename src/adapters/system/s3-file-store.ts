/**
 * Stores files in an S3 bucket, for nodes on several machines. The service writes an object completely or not at all. A write
 * without an answer is retried, because writing the same name and content twice is safe. Paths are `s3://bucket/key`.
 */
import { AwsClient } from "aws4fetch";
import { InvalidInputError, StoreUnavailableError } from "../../core/errors.ts";
import type { BlobStore } from "../../core/ports/ports.ts";

interface S3Options {
  /** The address of the service, such as `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  /** The start of every key. */
  readonly prefix?: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const TIMEOUT_MS = 30_000;
const RETRIES = 3;

export function s3FileStore(options: S3Options): BlobStore {
  const { bucket, prefix = "", accessKeyId, secretAccessKey, region } = options;
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: "s3", retries: RETRIES });
  const begin = `s3://${bucket}/`;
  const urlOf = (key: string): string =>
    `${options.endpoint.replace(/\/$/, "")}/${bucket}/${key.split("/").map(encodeURIComponent).join("/")}`;
  const ask = async (key: string, init: RequestInit): Promise<Response> => {
    try {
      return await client.fetch(urlOf(key), { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
    } catch (cause) {
      throw unavailable(`does not answer: ${(cause as Error).message}`, cause);
    }
  };
  const unavailable = (what: string, cause?: unknown): StoreUnavailableError =>
    new StoreUnavailableError(`The bucket ${bucket} ${what}.`, {
      cause,
      hint: "Check store.s3 in the configuration; the file can be written again.",
    });
  const keyIn = (path: string): string => {
    const key = path.slice(begin.length);
    // A path may come from outside: only objects below the prefix are read and removed.
    if (!path.startsWith(begin) || !key.startsWith(prefix) || key.includes(".."))
      throw new InvalidInputError(`"${path}" is not in the file store.`);
    return key;
  };
  return {
    pathOf: (name) => `${begin}${prefix}${name}`,
    async remove(path) {
      const response = await ask(keyIn(path), { method: "DELETE" });
      await response.arrayBuffer();
      if (!response.ok && response.status !== 404) throw unavailable(`refused to remove a file (${response.status})`);
    },
    async write(name, content) {
      if (name === "" || /[/\\\0]/.test(name) || name.startsWith("."))
        throw new InvalidInputError(`"${name}" is not a file name.`);
      const key = `${prefix}${name}`;
      const response = await ask(key, { method: "PUT", body: content as RequestInit["body"] });
      await response.arrayBuffer();
      if (!response.ok) throw unavailable(`refused to store a file (${response.status})`);
      return `${begin}${key}`;
    },
    async read(path) {
      const response = await ask(keyIn(path), { method: "GET" });
      const content = new Uint8Array(await response.arrayBuffer());
      if (response.status === 404) return undefined;
      if (!response.ok) throw unavailable(`refused to return a file (${response.status})`);
      return content;
    },
  };
}
