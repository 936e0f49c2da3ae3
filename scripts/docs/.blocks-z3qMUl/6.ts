import { createRookery, defineTool } from "rookery";
import { z } from "zod";

const weather = defineTool({
  name: "weather",
  description: "Weather in a city",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}`,
});
await using rookery = await createRookery({ home: "memory", tools: [weather] });