/** The part of the S3 server for tests that is used; the package brings no types. */
declare module "s3rver" {
  export default class S3rver {
    constructor(options: {
      port: number;
      address: string;
      silent: boolean;
      directory: string;
      configureBuckets: readonly { readonly name: string; readonly configs: readonly unknown[] }[];
    });
    run(): Promise<unknown>;
    close(): Promise<void>;
  }
}
