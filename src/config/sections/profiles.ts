/** Who an agent speaks as. The profile `main` is there even if nobody writes it down. */
import { list, named, section, text } from "../values.ts";
import { modelNameSchema, thinkingSchema } from "./models.ts";

const profileSchema = section({
  model: modelNameSchema().optional(),
  fallbacks: list(modelNameSchema()).optional(),
  thinking: thinkingSchema().optional(),
  authProfile: text("the name of an auth profile").optional(),
  prompt: text("the text of a prompt").optional(),
  workspace: text("the path of a directory").optional(),
});

export const profilesSchema = named(profileSchema).prefault({});
