import OpenAI from "openai";

const client = new OpenAI({ baseURL: "http://127.0.0.1:7717/v1", apiKey: process.env.ROOKERY_TOKEN });
await client.chat.completions.create({ model: "main", user: "ann", messages: [{ role: "user", content: "hello" }] });