# fish completion of lbctl, made by: lbctl completion fish

function __lbctl_complete
    set -l before (commandline -opc)
    set -l all (commandline -op)
    set -l word (commandline -ct)
    if test -z (commandline -t | string collect; or echo -n) # between two words
        set all $before '' $all[(math (count $before) + 1)..]
    end
    set -l program $before[1]
    type -q -- $program; or set program lbctl
    set -l lines ($program __complete fish (count $before) "$word" $all 2>/dev/null </dev/null)
    if string match -q 'delegate *' -- "$lines[1]"
        set -l skipped (string replace 'delegate ' '' -- $lines[1])
        set -l rest (string escape -- $before[(math $skipped + 1)..])
        complete -C (string join ' ' -- $rest $word | string collect)
    else if string match -q '*filenames*' -- "$lines[1]"; and string match -q -- '*~*' "$word"
        complete -C "'' $word" # it stands for a directory, and is not to be quoted
    else if set -q lines[2]
        string join \n -- $lines[2..]
    end
end

complete -c lbctl -f -k -a '(__lbctl_complete)'
