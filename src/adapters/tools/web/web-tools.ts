/** The tools for the web. */
import type { Tool } from "../../../core/ports/tool.ts";
import type { WebDeps } from "./web-deps.ts";
import { webFetchTool } from "./web-fetch-tool.ts";
import { webSearchTool } from "./web-search-tool.ts";

export const webTools = (deps: WebDeps): readonly Tool[] =>
  [webFetchTool(deps), webSearchTool(deps)] as readonly Tool[];
