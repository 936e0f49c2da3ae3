/** Tool calls that wait for a yes or a no, and those that were answered. */
import type { Approval } from "../../../src/core/rights/approval.ts";
import { api, type Page } from "../api.ts";
import { usePaged } from "../query.ts";
import { route, setQuery } from "../router.ts";
import { t } from "../texts.ts";
import { ApprovalRow } from "../ui/approval-row.tsx";
import { PagedList } from "../ui/list.tsx";
import { Tabs, ViewHead } from "../ui/parts.tsx";

const POLL_MS = 5_000;

export function Approvals() {
  const { id, query } = route.value;
  const state = query.state === "all" || id !== undefined ? "all" : "pending";
  const list = usePaged<Approval>(
    (limit, before, signal) => api.get<Page<Approval>>("/api/approvals", { state, before, limit }, signal),
    {
      key: state,
      pollMs: POLL_MS,
    },
  );
  return (
    <div class="view">
      <ViewHead title={t.approvals.title} text={t.approvals.text}>
        <Tabs
          label={t.approvals.title}
          value={state}
          tabs={[
            ["pending", t.approvals.open],
            ["all", t.approvals.all],
          ]}
          onChange={(next) => setQuery({ state: next })}
        />
      </ViewHead>
      <PagedList
        list={list}
        label={t.approvals.title}
        empty={["shield", t.approvals.noneTitle, state === "all" ? t.approvals.noneEnded : t.approvals.noneText]}
      >
        {(one) => <ApprovalRow key={one.id} approval={one} onDecided={list.reload} />}
      </PagedList>
    </div>
  );
}
