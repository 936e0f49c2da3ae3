import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createRookery } from "rookery";

const house = createOpenAICompatible({ name: "house", baseURL: "http://127.0.0.1:8000/v1" });
await using rookery = await createRookery({ home: "memory", model: house("qwen") });