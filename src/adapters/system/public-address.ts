/**
 * Which network addresses are public. Everything else (this machine, the local network, addresses with another address
 * inside) could be reached by a text that names it, so it is denied unless the owner lists it.
 */
import { BlockList, isIP } from "node:net";

const SPECIAL_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  // Multicast, reserved and broadcast.
  ["224.0.0.0", 3],
] as const;

/** Inside the global range 2000::/3. Teredo and 6to4 carry an IPv4 address. */
const SPECIAL_V6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;

/** All of them, as `address/bits`. */
export const SPECIAL_RANGES: readonly string[] = [...SPECIAL_V4, ...SPECIAL_V6].map((range) => range.join("/"));

const special = new BlockList();
for (const [address, bits] of SPECIAL_V4) special.addSubnet(address, bits, "ipv4");
for (const [address, bits] of SPECIAL_V6) special.addSubnet(address, bits, "ipv6");
const global6 = new BlockList();
global6.addSubnet("2000::", 3, "ipv6");
const mapped = new BlockList();
mapped.addSubnet("::ffff:0:0", 96, "ipv6");

/** False for a text that is not an address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special.check(address, "ipv4");
    case 6:
      // An IPv4 address in the form of IPv6 is never needed: a name resolves to the plain form too.
      return global6.check(address, "ipv6") && !special.check(address, "ipv6") && !mapped.check(address, "ipv6");
    default:
      return false;
  }
}

/** The private addresses that the owner allows: hosts (`nas`, `localhost:8080`), addresses, and ranges (`10.1.0.0/16`). */
export class AllowedAddresses {
  readonly #hosts: ReadonlySet<string>;
  readonly #ranges = new BlockList();

  constructor(entries: readonly string[]) {
    const hosts = new Set<string>();
    for (const entry of entries) {
      const range = parseRange(entry);
      if (range) this.#ranges.addSubnet(range.address, range.bits, range.family);
      else hosts.add(entry.toLowerCase());
    }
    this.#hosts = hosts;
  }

  /** `host` as in a URL: without the brackets of IPv6. */
  allows(host: string, port: string, address: string): boolean {
    if (isPublicAddress(address)) return true;
    const name = host.toLowerCase();
    if (this.#hosts.has(name) || this.#hosts.has(`${name}:${port}`)) return true;
    return this.#ranges.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
  }
}

interface Range {
  readonly address: string;
  readonly bits: number;
  readonly family: "ipv4" | "ipv6";
}

/** An address or a range of addresses; undefined for the name of a host. */
export function parseRange(entry: string): Range | undefined {
  const [address = "", length, ...rest] = entry.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return undefined;
  const most = version === 4 ? 32 : 128;
  const bits = length === undefined ? most : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  if (!(bits >= 0 && bits <= most)) return undefined;
  return { address, bits, family: version === 4 ? "ipv4" : "ipv6" };
}
