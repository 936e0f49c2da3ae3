/**
 * Files in a bucket that speaks S3's language, for nodes on several machines. An object is written whole or not at all by
 * the service itself; what failed for want of an answer is tried again, because the same name and content may be written
 * twice. The path to refer to is `s3://bucket/key`.
 */
import { AwsClient } from "aws4fetch";
import { InvalidInputError, StoreUnavailableError } from "../../core/errors.ts";
import type { FileStore } from "../../core/ports/ports.ts";

export interface S3Options {
  /** Where the service answers: `https://s3.eu-central-1.amazonaws.com`, or one's own. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  /** What all keys begin with. */
  readonly prefix?: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const TIMEOUT_MS = 30_000;
const RETRIES = 3;

export function s3FileStore(options: S3Options): FileStore {
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
  return {
    async write(name, content) {
      if (name === "" || /[/\\\0]/.test(name) || name.startsWith("."))
        throw new InvalidInputError(`"${name}" is not a file name.`);
      const key = `${prefix}${name}`;
      const response = await ask(key, { method: "PUT", body: content as RequestInit["body"] });
      await response.arrayBuffer();
      if (!response.ok) throw unavailable(`refused to keep a file (${response.status})`);
      return `${begin}${key}`;
    },
    async read(path) {
      const key = path.slice(begin.length);
      // Paths come with messages from outside too: nothing but what lies under our prefix is read.
      if (!path.startsWith(begin) || !key.startsWith(prefix) || key.includes("..")) {
        throw new InvalidInputError(`"${path}" is not in the file store.`);
      }
      const response = await ask(key, { method: "GET" });
      const content = new Uint8Array(await response.arrayBuffer());
      if (response.status === 404) return undefined;
      if (!response.ok) throw unavailable(`refused to give a file (${response.status})`);
      return content;
    },
  };
}
