/** The names beside ids. */
import { z } from "zod";

export const agentNameSchema = z.string().optional().describe("Absent if the agent is gone.");

/** An item of a list with the names of its agent and its person. */
export const namesShape = { agentName: agentNameSchema, personName: z.string().optional() };
