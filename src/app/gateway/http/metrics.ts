/** Counters and histograms of the gateway, in the text format of Prometheus. */

/** Upper bounds of the duration histogram, in seconds. */
const BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 600] as const;

interface Histogram {
  readonly counts: number[];
  sum: number;
  count: number;
}

interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly value: number;
}

export class Metrics {
  readonly #requests = new Map<string, number>();
  readonly #counters = new Map<string, number>();
  readonly #durations = new Map<string, Histogram>();
  #inFlight = 0;

  get inFlight(): number {
    return this.#inFlight;
  }

  requestStarted(): void {
    this.#inFlight += 1;
  }

  /** `route` is a path of the route table, never the requested path, so that callers cannot add labels. */
  requestEnded(route: string, method: string, status: number, seconds: number): void {
    this.#inFlight -= 1;
    const key = `route="${route}",method="${method}",status="${status}"`;
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
    let known = this.#durations.get(route);
    if (!known) {
      known = { counts: BUCKETS.map(() => 0), sum: 0, count: 0 };
      this.#durations.set(route, known);
    }
    known.sum += seconds;
    known.count += 1;
    for (const [at, bound] of BUCKETS.entries()) if (seconds <= bound) known.counts[at] = (known.counts[at] ?? 0) + 1;
  }

  count(name: string, by = 1): void {
    this.#counters.set(name, (this.#counters.get(name) ?? 0) + by);
  }

  text(gauges: readonly Gauge[]): string {
    const lines: string[] = [];
    const head = (name: string, type: string, help: string): void => {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    };
    head("rookery_http_requests_total", "counter", "Requests answered, by route, method and status.");
    for (const [labels, value] of this.#requests) lines.push(`rookery_http_requests_total{${labels}} ${value}`);
    head("rookery_http_request_seconds", "histogram", "How long answers took, by route.");
    for (const [route, { counts, sum, count }] of this.#durations) {
      for (const [at, bound] of BUCKETS.entries()) {
        lines.push(`rookery_http_request_seconds_bucket{route="${route}",le="${bound}"} ${counts[at]}`);
      }
      lines.push(`rookery_http_request_seconds_bucket{route="${route}",le="+Inf"} ${count}`);
      lines.push(`rookery_http_request_seconds_sum{route="${route}"} ${sum}`);
      lines.push(`rookery_http_request_seconds_count{route="${route}"} ${count}`);
    }
    for (const [name, value] of this.#counters) {
      head(`rookery_${name}_total`, "counter", `${name.replaceAll("_", " ")}.`);
      lines.push(`rookery_${name}_total ${value}`);
    }
    for (const { name, help, value } of gauges) {
      head(`rookery_${name}`, "gauge", help);
      lines.push(`rookery_${name} ${value}`);
    }
    return `${lines.join("\n")}\n`;
  }
}
