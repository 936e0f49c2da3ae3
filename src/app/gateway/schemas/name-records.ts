/** Gives the records of the core their names in the OpenAPI document, where each is written once. */
import { z } from "zod";
import { agentDescriptorSchema } from "../../../core/agent/descriptor.ts";
import { inheritedExecSchema } from "../../../core/agent/exec-fields.ts";
import { agentStateSchema } from "../../../core/agent/state.ts";
import { subagentRunRecordSchema } from "../../../core/agent/subagent-run.ts";
import { swarmRecordSchema } from "../../../core/agent/swarm.ts";
import { systemPromptReportSchema } from "../../../core/agent/system-prompt-report.ts";
import { deliveryContextSchema, payloadSchema } from "../../../core/delivery/delivery.ts";
import { fileReferenceSchema } from "../../../core/file-reference.ts";
import { blockSchema, entrySchema, usageSchema } from "../../../core/history/entry.ts";
import { messageBodySchema } from "../../../core/message/message.ts";
import { behalfSchema } from "../../../core/people/behalf.ts";
import { personRecordSchema } from "../../../core/people/person-record.ts";
import { compactResultSchema } from "../../../core/run/compact-result.ts";
import { runBodySchema } from "../../../core/run/run.ts";
import { cronPayloadSchema, cronScheduleSchema } from "../../../core/schedule/job.ts";

const NAMES = {
  AgentDescriptor: agentDescriptorSchema,
  AgentState: agentStateSchema,
  Behalf: behalfSchema,
  Block: blockSchema,
  CompactResult: compactResultSchema,
  CronPayload: cronPayloadSchema,
  CronSchedule: cronScheduleSchema,
  DeliveryContext: deliveryContextSchema,
  Entry: entrySchema,
  FileReference: fileReferenceSchema,
  InheritedExec: inheritedExecSchema,
  MessageBody: messageBodySchema,
  Payload: payloadSchema,
  Person: personRecordSchema,
  RunBody: runBodySchema,
  SubagentRun: subagentRunRecordSchema,
  Swarm: swarmRecordSchema,
  SystemPromptReport: systemPromptReportSchema,
  Usage: usageSchema,
} as const;

export function nameRecords(): void {
  for (const [id, schema] of Object.entries(NAMES)) z.globalRegistry.add(schema, { id });
}
