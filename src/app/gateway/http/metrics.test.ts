import { describe, expect, it } from "vitest";
import { Metrics } from "./metrics.ts";

const linesOf = (metrics: Metrics, gauges: Parameters<Metrics["text"]>[0] = []): readonly string[] =>
  metrics.text(gauges).split("\n");

describe("the metrics", () => {
  it("describe every metric before its first value, once", () => {
    const metrics = new Metrics();
    metrics.requestStarted();
    metrics.requestEnded("/a", "GET", 200, 1);
    metrics.count("streams_closed_done");
    const gauges = [{ name: "agents", help: "Agents that are awake.", value: 3 }];
    const lines = linesOf(metrics, gauges);
    expect(lines.at(-1)).toBe("");
    const described = new Map<string, string>();
    for (const line of lines.slice(0, -1)) {
      const [, word, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
      if (word === "HELP") expect(described.has(name), line).toBe(false);
      if (word === "HELP") described.set(name, "");
      if (word === "TYPE") expect(described.get(name), line).toBe("");
      if (word === "TYPE") described.set(name, rest);
      if (word !== undefined) continue;
      const metric = /^\w+/.exec(line)?.[0] ?? "";
      const known = described.get(metric) ?? described.get(metric.replace(/_(bucket|sum|count)$/, ""));
      expect(known, line).toMatch(/^(counter|gauge|histogram)$/);
    }
    expect(Object.fromEntries(described)).toEqual({
      rookery_http_requests_total: "counter",
      rookery_http_request_seconds: "histogram",
      rookery_streams_closed_done_total: "counter",
      rookery_agents: "gauge",
    });
    expect(lines).toContain("# HELP rookery_agents Agents that are awake.");
    expect(lines).toContain("# HELP rookery_streams_closed_done_total streams closed done.");
  });

  it("count requests by route, method and status", () => {
    const metrics = new Metrics();
    for (const [route, method, status] of [
      ["/a", "GET", 200],
      ["/a", "GET", 200],
      ["/a", "POST", 200],
      ["/a", "GET", 404],
      ["/b", "GET", 200],
    ] as const) {
      metrics.requestStarted();
      metrics.requestEnded(route, method, status, 0.01);
    }
    expect(linesOf(metrics).filter((line) => line.startsWith("rookery_http_requests_total{"))).toEqual([
      'rookery_http_requests_total{route="/a",method="GET",status="200"} 2',
      'rookery_http_requests_total{route="/a",method="POST",status="200"} 1',
      'rookery_http_requests_total{route="/a",method="GET",status="404"} 1',
      'rookery_http_requests_total{route="/b",method="GET",status="200"} 1',
    ]);
    expect(linesOf(metrics)).toContain('rookery_http_request_seconds_count{route="/a"} 4');
  });

  it("count a duration in every bucket that it fits into, also at its bound", () => {
    const metrics = new Metrics();
    for (const seconds of [0.005, 0.1, 0.11, 601]) metrics.requestEnded("/a", "GET", 200, seconds);
    const values = linesOf(metrics).flatMap((line) => {
      const [, bound, value] = /^rookery_http_request_seconds_bucket\{route="\/a",le="(.+)"\} (\d+)$/.exec(line) ?? [];
      return bound === undefined ? [] : [[bound, Number(value)]];
    });
    expect(values).toEqual([
      ["0.005", 1],
      ["0.025", 1],
      ["0.1", 2],
      ["0.5", 3],
      ["2.5", 3],
      ["10", 3],
      ["60", 3],
      ["600", 3],
      ["+Inf", 4],
    ]);
    expect(linesOf(metrics)).toContain(`rookery_http_request_seconds_sum{route="/a"} ${0.005 + 0.1 + 0.11 + 601}`);
  });

  it("know how many requests are in progress, and add up counters", () => {
    const metrics = new Metrics();
    metrics.requestStarted();
    metrics.requestStarted();
    expect(metrics.inFlight).toBe(2);
    metrics.requestEnded("/a", "GET", 200, 1);
    expect(metrics.inFlight).toBe(1);
    metrics.count("x");
    metrics.count("x", 4);
    expect(linesOf(metrics)).toContain("rookery_x_total 5");
  });
});
