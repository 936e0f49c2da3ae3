/**
 * The program that makes the attempts, as text for `node -e`: nothing else of Rookery is visible inside a sandbox. It opens files for
 * writing and closes them; it never writes.
 */
export const ATTEMPT_SCRIPT = String.raw`
const fs = require("node:fs"), net = require("node:net"), path = require("node:path");
const { spawnSync } = require("node:child_process");
const asked = JSON.parse(process.argv[1]);

const connect = (options, refusals) => new Promise((resolve) => {
  let socket;
  try { socket = net.connect(options); } catch { return resolve("refused"); }
  const end = (outcome) => { socket.destroy(); resolve(outcome); };
  socket.setTimeout(1500, () => end("succeeded"));
  socket.once("connect", () => end("succeeded"));
  socket.once("error", ({ code }) => end(!refusals || refusals.includes(code) ? "refused" : "succeeded"));
});

const toSocket = (directory) => {
  try { process.chdir(directory); } catch { return "refused"; }
  return connect({ path: "s" });
};

const PERL = 'socketpair(my $a, my $b, 1, 2, 0) or exit 3; send($a, "x", 0, pack("S a*", 1, "s".chr(0))) or $!{EPROTOTYPE} or exit 3;';
const PYTHON = 'import errno,socket,sys\ntry: socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM)[0].sendto(b"x","s")\nexcept OSError as e: sys.exit(0 if e.errno==errno.EPROTOTYPE else 3)';

// A stream socket answers a datagram with an error of its own, so it was reached.
const datagram = (directory) => {
  try { process.chdir(directory); } catch { return "refused"; }
  for (const [program, args] of [["perl", ["-MErrno", "-e", PERL]], ["python3", ["-c", PYTHON]]]) {
    const { status } = spawnSync(program, args, { stdio: "ignore", timeout: 5000 });
    if (status === 0) return "succeeded";
    if (status === 3) return "refused";
  }
  return "untried";
};

const can = (attempt) => { try { attempt(); return true; } catch { return false; } };
const outcome = (succeeded) => (succeeded ? "succeeded" : "refused");
const read = (file) => can(() => fs.closeSync(fs.openSync(file, "r")));
const openToWrite = (file) => can(() => fs.closeSync(fs.openSync(file, fs.constants.O_WRONLY)));

const filesBelow = (directory, depth) => {
  let found = [];
  if (!can(() => { found = fs.readdirSync(directory, { withFileTypes: true }).slice(0, 40); })) return [];
  return found.flatMap((one) => {
    const at = path.join(directory, one.name);
    return one.isDirectory() ? (depth > 0 ? filesBelow(at, depth - 1) : []) : [at];
  });
};

(async () => {
  const { sockets } = asked;
  const result = {
    loopback: await connect({ host: "127.0.0.1", port: asked.port }),
    outside: await connect({ host: asked.outside, port: 443 }, ["ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL", "EACCES", "EPERM"]),
    home: outcome(read(asked.home)),
    otherWorkspace: outcome(read(asked.otherWorkspace)),
    userHome: outcome(asked.userHome.some((one) => can(() => fs.lstatSync(one)))),
    controlSocket: await toSocket(sockets.controlSocket),
    workspaceSocket: await toSocket(sockets.workspaceSocket),
    readOnlySocket: await toSocket(sockets.readOnlySocket),
    workspaceDatagram: datagram(sockets.workspaceSocket),
    readOnlyDatagram: datagram(sockets.readOnlySocket),
    procSys: outcome(["kernel/core_pattern", "kernel/modprobe", "vm/overcommit_memory"].some((one) => openToWrite("/proc/sys/" + one))),
    procIrq: outcome(filesBelow("/proc/irq", 1).some(openToWrite)),
    procBus: outcome(filesBelow("/proc/bus", 2).some(openToWrite)),
  };
  process.stdout.write("\nrookery-attempts " + JSON.stringify(result) + "\n");
  process.exit(0);
})();
`;
