/** Tools and a prompt of the conformance suite that need input from the client before they go on. */
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  inputRequired,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";

const none = z.object({});
const done = (text: string) => ({ content: [{ type: "text" as const, text }] });
const ask = (message: string, field: string, type: "string" | "boolean" = "string") =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [field]: { type } }, required: [field] } as never,
  });
const sample = (question: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: question } }],
    maxTokens,
  });
const answered = ({ mcpReq }: ServerContext, key: string): unknown => mcpReq.inputResponses?.[key];
const capabilities = ({ mcpReq }: ServerContext): ClientCapabilities =>
  ((mcpReq.envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ??
    {}) as ClientCapabilities;

export function addAsking(server: McpServer, states: RequestStateCodec<{ step: string }>): void {
  const tool = (name: string, run: (context: ServerContext) => Promise<unknown> | unknown) =>
    server.registerTool(name, { description: name, inputSchema: none }, async (_, context) => run(context) as never);
  const state = (context: ServerContext, step: string) => states.mint({ step }, context);

  tool("test_input_required_result_elicitation", ({ mcpReq }) => {
    const given = acceptedContent<{ name: string }>(mcpReq.inputResponses, "user_name");
    return given
      ? done(`Hello, ${given.name}!`)
      : inputRequired({ inputRequests: { user_name: ask("What is your name?", "name") } });
  });
  tool("test_input_required_result_sampling", (context) =>
    answered(context, "capital_question")
      ? done(JSON.stringify(answered(context, "capital_question")))
      : inputRequired({ inputRequests: { capital_question: sample("What is the capital of France?", 100) } }),
  );
  tool("test_input_required_result_list_roots", (context) =>
    answered(context, "client_roots")
      ? done(JSON.stringify(answered(context, "client_roots")))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } }),
  );
  for (const name of ["request_state", "tampered_state"])
    tool(`test_input_required_result_${name}`, async (context) =>
      answered(context, "confirm") && context.mcpReq.requestState<{ step: string }>()?.step === name
        ? done("state-ok")
        : inputRequired({
            inputRequests: { confirm: ask("Please confirm", "ok", "boolean") },
            requestState: await state(context, name),
          }),
    );
  tool("test_input_required_result_multiple_inputs", async (context) =>
    ["user_name", "greeting", "client_roots"].every((key) => answered(context, key))
      ? done("all there")
      : inputRequired({
          inputRequests: {
            user_name: ask("What is your name?", "name"),
            greeting: sample("Generate a greeting", 50),
            client_roots: inputRequired.listRoots(),
          },
          requestState: await state(context, "several"),
        }),
  );
  tool("test_input_required_result_multi_round", async (context) => {
    const step = context.mcpReq.requestState<{ step: string }>()?.step;
    if (step === "two" && answered(context, "step2")) return done("both rounds");
    const [key, requests] =
      step === "one" && answered(context, "step1")
        ? ["two", { step2: ask("Step 2: What is your favorite color?", "color") }]
        : ["one", { step1: ask("Step 1: What is your name?", "name") }];
    return inputRequired({ inputRequests: requests as never, requestState: await state(context, String(key)) });
  });
  tool("test_input_required_result_capabilities", (context) => {
    const { sampling, elicitation } = capabilities(context);
    return inputRequired({
      inputRequests: {
        ...(sampling ? { question: sample("What is the capital of France?", 100) } : {}),
        ...(elicitation ? { user_name: ask("What is your name?", "name") } : {}),
      },
    });
  });
  // The library refuses to ask for what the client has not declared.
  tool("test_missing_capability", (context) =>
    answered(context, "question")
      ? done("sampled")
      : inputRequired({ inputRequests: { question: sample("What is the capital of France?", 100) } }),
  );
  tool("test_streaming_elicitation", ({ mcpReq }) =>
    acceptedContent(mcpReq.inputResponses, "user_name")
      ? done("streamed")
      : inputRequired({ inputRequests: { user_name: ask("What is your name?", "name") } }),
  );
  server.registerPrompt("test_input_required_result_prompt", { description: "asks" }, ((context: ServerContext) => {
    const given = acceptedContent<{ context: string }>(context.mcpReq.inputResponses, "user_context");
    return given
      ? { messages: [{ role: "user", content: { type: "text", text: given.context } }] }
      : inputRequired({ inputRequests: { user_context: ask("What context should the prompt use?", "context") } });
  }) as never);
}
