# Runs as `sh -c` with a pipe as its standard input. The pipe ends when the process that started us ends, in any way.
# Signals meant for that process are not for us: we are the one that stays.
trap '' HUP INT QUIT TERM PIPE
echo ready
groups=
while IFS=' ' read -r verb argument; do
    case $verb in
    kill) groups="$groups $argument" ;;
    spare)
        kept=
        for group in $groups; do [ "$group" = "$argument" ] || kept="$kept $group"; done
        groups=$kept
        ;;
    remove) set -- "$@" "$argument" ;;
    keep)
        for directory do
            shift
            [ "$directory" = "$argument" ] || set -- "$@" "$directory"
        done
        ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
# A killed process may still be finishing a write: try until the folder is really deleted, for at most 10 s.
for directory do
    tries=0
    until rm -rf -- "$directory" || [ "$tries" -ge 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
done
