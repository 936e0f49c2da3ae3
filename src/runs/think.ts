/**
 * One call of the model, with the rule of each class of error: wait as told, back off, or give the error to the loop.
 * Never throws; streams deltas to whoever listens.
 */

import { z } from "zod";
import { sleep } from "../core/clock.ts";
import { errorText } from "../core/errors.ts";
import type { ModelEvent, ModelRequest, ModelResult, ModelTool } from "../core/model.ts";
import type { Tool } from "../core/tool.ts";
import type { Holding } from "./holding.ts";
import type { LiveRun } from "./live-run.ts";
import type { RunPorts } from "./run-ports.ts";

const TRANSIENT_BASE_MS = 2_000;
const TRANSIENT_TRIES = 3;
const RATE_TRIES = 5;

export async function think(ports: RunPorts, holding: Holding, run: LiveRun): Promise<ModelResult> {
  const { model: name, system, thinking } = ports.voice(holding.record);
  const request: ModelRequest = {
    model: name,
    system,
    messages: await holding.context(),
    tools: ports.tools.list(holding.agentId).map(modelTool),
    sessionId: holding.sessionId,
    ...(thinking === undefined ? {} : { thinking }),
  };
  for (let tries = 1; ; tries++) {
    const result = await call(ports, run, request);
    const wait = waitBefore(result, tries);
    if (wait === undefined) return result;
    ports.log.info("the model will be called again", { run: run.id, class: result.error?.class, tries, wait });
    if ((await sleep(ports.clock, wait, run.signal)) === "aborted") {
      return { ...result, stopReason: "aborted", error: { class: "aborted", message: "aborted" } };
    }
  }
}

async function call(ports: RunPorts, run: LiveRun, request: ModelRequest): Promise<ModelResult> {
  const about = { agentId: run.agentId, runId: run.id, attempt: run.attempt, step: run.step };
  const onEvent = (event: ModelEvent): void => {
    if (event.type !== "toolCall") ports.events.emit(about, { type: "delta", stream: event.type, text: event.delta });
  };
  run.state = "streaming";
  try {
    return await ports.model.call(request, run.signal, onEvent);
  } catch (error) {
    const message = errorText(error);
    return {
      content: [],
      stopReason: "error",
      api: "",
      provider: "",
      model: request.model,
      error: { class: "transient", message },
    };
  } finally {
    run.state = "active";
  }
}

/** How long to wait before the same call is made again; undefined where the loop must decide. */
function waitBefore({ error }: ModelResult, tries: number): number | undefined {
  if (error?.class === "transient" && tries < TRANSIENT_TRIES) return TRANSIENT_BASE_MS * 2 ** (tries - 1);
  if (error?.class === "rate" && tries < RATE_TRIES) return error.retryAfterMs ?? TRANSIENT_BASE_MS * 2 ** (tries - 1);
  return undefined;
}

const schemas = new WeakMap<Tool, ModelTool>();

/** A tool as the model is told of it. Made once, so that the same tool always has the same bytes. */
export function modelTool(tool: Tool): ModelTool {
  let known = schemas.get(tool);
  if (!known) {
    const { name, description } = tool;
    known = { name, description, parameters: z.toJSONSchema(tool.input) as Record<string, unknown> };
    schemas.set(tool, known);
  }
  return known;
}
