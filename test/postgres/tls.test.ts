/** An encrypted connection that verifies the server. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { StoreUnavailableError } from "../../src/core/errors.ts";
import { needs } from "../kit/needs.ts";
import { startServer } from "./server.ts";

function selfSigned(directory: string): { cert: string; key: string } {
  const [cert, key] = [join(directory, "tls.crt"), join(directory, "tls.key")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const how = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", cert];
  execFileSync("openssl", [...how, ...subject], { stdio: "pipe" });
  return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
}

test("the server's certificate is verified, and the connection is encrypted", needs("openssl"), async () => {
  const directory = mkdtempSync(join(tmpdir(), "rookery-tls-"));
  const tls = selfSigned(directory);
  const server = await startServer({ tls });
  try {
    const trusted = `${server.url}?sslmode=verify-full&sslrootcert=${join(directory, "tls.crt")}`;
    const store = await openPostgresStore({ url: trusted });
    const { rows } = await store.connections.use("read", (client) =>
      client.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"),
    );
    expect(rows).toEqual([{ ssl: true }]);
    await store.close();
    // The certificate is not signed by a trusted authority.
    await expect(openPostgresStore({ url: `${server.url}?sslmode=verify-full` })).rejects.toThrow(
      StoreUnavailableError,
    );
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true });
  }
});
