/** `rookery engine`: what the person does who keeps an engine running: service, versions, logs, its store and other engines. */
import type { Group } from "../command.ts";
import { showAudit } from "./engine-audit.ts";
import { copyStore } from "./engine-copy.ts";
import { showLogs } from "./engine-logs.ts";
import { showNodes } from "./engine-nodes.ts";
import { prune } from "./engine-prune.ts";
import { remotesGroup } from "./engine-remotes.ts";
import { repairAction } from "./engine-repair.ts";
import { serviceActions } from "./engine-service.ts";
import { updateAction } from "./engine-update.ts";

export const engineCommand: Group = {
  summary: "run the engine as a service, update it, read its logs, repair or copy its store",
  actions: {
    ...serviceActions,
    update: updateAction,
    logs: showLogs,
    audit: showAudit,
    nodes: showNodes,
    prune,
    repair: repairAction,
    copy: copyStore,
    remotes: remotesGroup,
  },
  fallback: "status",
};
