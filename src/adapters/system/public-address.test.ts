/** Where public addresses begin and end, and what the owner's list opens. */
import { describe, expect, test } from "vitest";
import { AllowedAddresses, isPublicAddress, parseRange } from "./public-address.ts";

describe("the addresses around a range", () => {
  // The last public one before it, its first and its last one, the first public one after it.
  test.each([
    ["0.0.0.0/8", undefined, "0.0.0.0", "0.255.255.255", "1.0.0.0"],
    ["10.0.0.0/8", "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"],
    ["100.64.0.0/10", "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"],
    ["127.0.0.0/8", "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"],
    ["169.254.0.0/16", "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"],
    ["172.16.0.0/12", "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"],
    ["192.0.0.0/24", "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"],
    ["192.0.2.0/24", "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"],
    ["192.88.99.0/24", "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"],
    ["192.168.0.0/16", "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"],
    ["198.18.0.0/15", "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"],
    ["198.51.100.0/24", "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"],
    ["203.0.113.0/24", "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"],
    ["224.0.0.0/3", "223.255.255.255", "224.0.0.0", "255.255.255.255", undefined],
    ["all before 2000::/3", undefined, "::", "1fff:ffff::", "2000::"],
    ["2001::/23", "2000:ffff::", "2001::", "2001:1ff:ffff::", "2001:200::"],
    ["2001:db8::/32", "2001:db7:ffff::", "2001:db8::", "2001:db8:ffff::", "2001:db9::"],
    ["2002::/16", "2001:ffff::", "2002::", "2002:ffff:ffff::", "2003::"],
    ["3fff::/20", "3ffe:ffff::", "3fff::", "3fff:fff:ffff::", "3fff:1000::"],
    ["all after 2000::/3", "3fff:ffff::", "4000::", "ffff:ffff::", undefined],
  ])("%s", (_, before, first, last, after) => {
    expect([first, last].map(isPublicAddress)).toEqual([false, false]);
    for (const address of [before, after]) if (address !== undefined) expect(isPublicAddress(address)).toBe(true);
  });
});

describe("the owner's list", () => {
  test.each([
    [["nas"], "nas", "80", "10.0.0.1", true],
    [["NAS"], "nas", "80", "10.0.0.1", true],
    [["nas"], "NAS", "80", "10.0.0.1", true],
    [["nas:8080"], "nas", "8080", "10.0.0.1", true],
    [["nas:8080"], "nas", "80", "10.0.0.1", false],
    [["nas"], "other", "80", "10.0.0.1", false],
    [["10.0.0.0/8"], "other", "80", "10.0.0.1", true],
    [["10.0.0.0/8"], "other", "80", "11.0.0.1", true],
    [["10.0.0.0/8"], "other", "80", "192.168.0.1", false],
    [["10.0.0.1"], "other", "80", "10.0.0.1", true],
    [["10.0.0.1"], "other", "80", "10.0.0.2", false],
    [["fd00::/8"], "other", "80", "fd12::1", true],
    [["fd00::/8"], "other", "80", "fe80::1", false],
    [[], "nas", "80", "10.0.0.1", false],
    [[], "nas", "80", "8.8.8.8", true],
    [["nas"], "other", "80", "no address", false],
  ])("%j for %s on the port %s at %s: %s", (entries, host, port, address, allowed) => {
    expect(new AllowedAddresses(entries).allows(host, port, address)).toBe(allowed);
  });

  test.each([
    ["0.0.0.0/0", 0],
    ["10.0.0.0/32", 32],
    ["::/128", 128],
    ["::/129", undefined],
    ["10.0.0.0/-1", undefined],
    ["10.0.0.0/1e1", undefined],
    ["10.0.0.0/ 8", undefined],
    ["10.0.0/8", undefined],
  ])("reads %s as a range of %s bits", (text, bits) => {
    expect(parseRange(text)?.bits).toBe(bits);
  });
});
