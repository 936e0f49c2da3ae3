/** The settings of test engines; part of `rookery/testing`. */
export * from "../../src/app/testing/settings.ts";
