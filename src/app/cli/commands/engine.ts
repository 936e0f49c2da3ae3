/** `rookery engine`: what the person does who keeps an engine running: service, versions, logs, its store and other engines. */
import type { Group } from "../command.ts";
import { showAudit } from "./audit.ts";
import { showLogs } from "./logs.ts";
import { showNodes } from "./nodes.ts";
import { prune } from "./prune.ts";
import { remotesGroup } from "./remote.ts";
import { repairAction } from "./repair.ts";
import { serviceActions } from "./service.ts";
import { copyStore } from "./store.ts";
import { updateAction } from "./update.ts";

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
