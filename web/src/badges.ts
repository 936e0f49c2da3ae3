/** How many approvals and failed deliveries wait for a person, for the navigation. */
import { useEffect } from "preact/hooks";
import { api, type Page } from "./api.ts";
import { useQuery } from "./query.ts";
import { isOwner } from "./session.ts";
import { badges } from "./ui/shell.tsx";

const POLL_MS = 15_000;
const MOST = 100;

export function useBadges(): void {
  const { data } = useQuery(
    async (signal) => {
      const open = await api.get<Page<unknown>>("/api/approvals", { state: "pending", limit: MOST }, signal);
      if (!isOwner()) return { approvals: open.items.length };
      const failed = await api.get<Page<unknown>>("/api/outbox", { state: "failed", limit: MOST }, signal);
      const unsure = await api.get<Page<unknown>>("/api/outbox", { state: "unconfirmed", limit: MOST }, signal);
      return { approvals: open.items.length, outbox: failed.items.length + unsure.items.length };
    },
    { key: "badges", pollMs: POLL_MS },
  );
  useEffect(() => {
    if (data) badges.value = data;
  }, [data]);
}
