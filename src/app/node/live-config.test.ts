import { expect, test } from "vitest";
import type { Config } from "../../config/config-schema.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { InvariantError } from "../../core/errors.ts";
import { liveConfigOf } from "./live-config.ts";

const parse = (text: string): Config => parseConfig({ text, file: "x", env: {} }).config;

test("the view and every section of it show the values in force, also sections that were kept", () => {
  const live = liveConfigOf(parse(`{ profiles: { main: { prompt: "one" }, old: { prompt: "old" } } }`));
  const { profiles, queue } = live.config;
  const { main, old } = profiles;
  expect([main?.prompt, old?.prompt, queue.cap, Object.keys(profiles)]).toEqual(["one", "old", 20, ["main", "old"]]);
  live.replace(parse(`{ profiles: { main: { prompt: "two" }, more: {} }, queue: { cap: 7 } }`));
  expect([main?.prompt, old?.prompt, queue.cap, Object.keys(profiles)]).toEqual([
    "two",
    undefined,
    7,
    ["main", "more"],
  ]);
  expect([profiles.old, Object.hasOwn(profiles, "old"), "more" in profiles]).toEqual([undefined, false, true]);
  expect(JSON.parse(JSON.stringify(live.config))).toEqual(JSON.parse(JSON.stringify(live.current())));
});

test("parts that are built may keep sections and values that need a restart, but no other value", () => {
  const live = liveConfigOf(parse(`{ profiles: { main: { tools: { deny: ["write"] } } } }`));
  const { config } = live;
  expect(live.building(() => [config.queue, config.profiles.main?.tools, config.store.synchronous])).toHaveLength(3);
  const captures: readonly (() => unknown)[] = [
    () => config.queue.mode,
    () => config.profiles.main?.tools?.deny,
    () => config.profiles.absent,
    () => ({ ...config.outbox }),
    () => Object.keys(config.profiles),
    () => config.bindings,
  ];
  for (const capture of captures) {
    expect(capture).not.toThrow();
    expect(() => live.building(capture), String(capture)).toThrow(InvariantError);
  }
  expect(config.queue.mode).toBe("collect");
});

test("nobody writes it", () => {
  const { config } = liveConfigOf(parse("{}"));
  expect(() => Object.assign(config.queue, { cap: 1 })).toThrow(InvariantError);
  expect(() => Reflect.deleteProperty(config, "queue")).toThrow(InvariantError);
});
