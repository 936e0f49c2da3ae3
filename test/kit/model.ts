/** Part of `rookery/testing`; the tests of this repository use it too. */
export * from "../../src/app/testing/model.ts";
