/**
 * The program around every command (M33). It is in a session of its own, so it outlives this process. It writes the output and
 * at the end the exit code into files. A second file renamed over the first makes the code complete or absent.
 *
 * Arguments: the directory, the most 512-byte blocks that a file may get, the most KiB of data of a process, `input` or `none`, then the command. `TERM` ends the command and not the
 * wrapper; `USR1` ends the input of the command. The shell that waits for signals cannot tell the command's code from a signal's (`wait` may
 * end with 138 although the command has ended too), so another one waits for the command and writes its code down.
 */
export const WRAPPER = `
dir=$1; ulimit -f "$2" 2>/dev/null; ulimit -d "$3" 2>/dev/null; from=/dev/null
if [ "$4" = input ]; then from=$dir/input; fi; shift 4
mkfifo -m 600 "$dir/input" && exec 3<>"$dir/input" || exit 125
trap ':' TERM; trap 'exec 3>&-' USR1
( exec <"$from" 2>/dev/null 3>&-; trap ':' TERM
  ( exec >>"$dir/output" 2>&1; exec "$@" ); echo "$?" >"$dir/code" ) &
child=$!
while kill -0 "$child" 2>/dev/null; do wait "$child"; done
read -r code <"$dir/code" || code=143
echo "$code" >"$dir/status.new" && mv -f "$dir/status.new" "$dir/status"
`;
