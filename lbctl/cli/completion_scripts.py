"""The scripts that make the shells ask lbctl; all they do is hand the line over and show the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

_BASH: Final = r"""# bash completion of lbctl, made by: lbctl completion bash

_lbctl() {
    local program=${1/#\~\//$HOME/} line about
    type -P -- "$program" >/dev/null || program=lbctl
    COMPREPLY=()
    if [[ $2 == *[\$\`]* ]]; then # a variable, a command: bash knows those
        compopt -o bashdefault -o default 2>/dev/null
        return
    fi
    {
        IFS= read -r about
        while IFS= read -r line; do COMPREPLY+=("$line"); done
    } <<<"$("$program" __complete bash "${COMP_LINE:0:COMP_POINT}" "${COMP_LINE:COMP_POINT}" \
        "$COMP_WORDBREAKS" 2>/dev/null </dev/null)"
    case $about in
        delegate*) _lbctl_delegate "${about#delegate }" ;;
        *nospace*) compopt -o nospace 2>/dev/null ;;
    esac
    case $about in *filenames*) compopt -o filenames 2>/dev/null ;; esac
}

# The command that begins with this word of the line is none of lbctl.
_lbctl_delegate() {
    local skipped rest=${COMP_LINE:0:COMP_POINT} place
    COMPREPLY=()
    if declare -F _comp_command_offset >/dev/null || declare -F _command_offset >/dev/null; then
        # they count words as readline splits them
        for ((place = 0, skipped = 0; place < COMP_CWORD; place++)); do
            [[ ${COMP_WORDS[place]} == -- ]] && skipped=$((place + 1))
        done
        if ((skipped)); then
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset "$skipped"
            else
                _command_offset "$skipped"
            fi
            return
        fi
    fi
    if [[ ${rest%%*([[:space:]])} == *' --' ]] || ((COMP_CWORD <= $1)); then
        while IFS= read -r line; do COMPREPLY+=("$line"); done <<<"$(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")"
    else
        compopt -o bashdefault -o default 2>/dev/null
    fi
}

complete -o nosort -F _lbctl lbctl 2>/dev/null || complete -F _lbctl lbctl # bash before 4.4 sorts
"""

_ZSH: Final = r"""#compdef lbctl
# zsh completion of lbctl, made by: lbctl completion zsh

_lbctl() {
    local program=${(Q)words[1]} word=$PREFIX about line
    local -a lines fields plain plain_shown open open_shown
    program=${program/#\~\//$HOME/}
    whence -p -- "$program" >/dev/null || program=lbctl
    if [[ $PREFIX == *[\$\`]* ]]; then # a variable, a command: zsh knows those
        _default
        return
    fi
    [[ -n $compstate[quote] ]] || word=${(Q)PREFIX}
    lines=("${(@f)$("$program" __complete zsh $((CURRENT - 1)) "$word" "${(@Q)words}" 2>/dev/null </dev/null)}")
    about=$lines[1]
    if [[ $about == delegate* ]]; then
        local skipped=${about#delegate }
        shift skipped words
        ((CURRENT -= skipped))
        _normal
        return
    fi
    for line in "${(@)lines[2,-1]}"; do
        fields=("${(@ps:\t:)line}")
        line=${fields[2]//\\/\\\\}
        line=${line//:/\\:}${fields[4]:+:$fields[4]}
        if [[ $fields[1] == + ]]; then
            open+=("$fields[3]") open_shown+=("$line")
        else
            plain+=("$fields[3]") plain_shown+=("$line")
        fi
    done
    if [[ $about == *filenames* && $PREFIX == *\~* ]]; then # it stands for a directory, and is not to be quoted
        [[ $PREFIX == *=* ]] && compset -P '*='
        _files
        return
    fi
    local found=1
    (( $#plain )) && _describe -V 'lbctl' plain_shown plain && found=0
    (( $#open )) && _describe -V 'lbctl' open_shown open -S '' && found=0
    return found
}

if [[ $funcstack[1] == _lbctl ]]; then # out of a directory of fpath
    _lbctl "$@"
else
    compdef _lbctl lbctl
fi
"""

_FISH: Final = r"""# fish completion of lbctl, made by: lbctl completion fish

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
        __fish_complete_path "$word" # it stands for a directory, and is not to be quoted
    else if set -q lines[2]
        string join \n -- $lines[2..]
    end
end

complete -c lbctl -f -k -a '(__lbctl_complete)'
"""

_POWERSHELL: Final = r"""# PowerShell completion of lbctl, made by: lbctl completion powershell

Register-ArgumentCompleter -Native -CommandName lbctl -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $before = @()
    $after = @()
    $word = ''
    foreach ($element in $commandAst.CommandElements) {
        $text = $element.Extent.Text
        if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $text = $element.Value }
        if ($element.Extent.EndOffset -lt $cursorPosition) {
            $before += $text
        } elseif ($element.Extent.StartOffset -ge $cursorPosition) {
            $after += $text
        } else {
            $shown = $element.Extent.Text
            $word = $shown.Substring(0, [Math]::Min($cursorPosition - $element.Extent.StartOffset, $shown.Length))
            $word = $word.Trim("'", '"')
        }
    }
    $lines = @($before.Count, $word) + $before + @($word) + $after
    $packed = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($lines -join "`n"))
    $program = $commandAst.GetCommandName()
    $about, $found = @(& $program __complete powershell $packed 2>$null)
    if ("$about" -like 'delegate *') {
        $skipped = [int]("$about".Substring(9))
        $begin = $cursorPosition
        if ($skipped -lt $commandAst.CommandElements.Count) {
            $begin = $commandAst.CommandElements[$skipped].Extent.StartOffset
        }
        $offset = $commandAst.Extent.StartOffset
        $rest = $commandAst.Extent.Text.PadRight($cursorPosition - $offset).Substring($begin - $offset)
        (TabExpansion2 -inputScript $rest -cursorColumn ($cursorPosition - $begin)).CompletionMatches
        return
    }
    foreach ($line in $found) {
        $more, $shown, $text, $meaning = "$line" -split "`t", 4
        if (-not $meaning) { $meaning = $shown }
        [System.Management.Automation.CompletionResult]::new($text, $shown, 'ParameterValue', $meaning)
    }
}
"""


class Script(NamedTuple):
    """A script, what its file is called, and how it is put to use."""

    text: str
    file: str
    use: str


SCRIPTS: Final[Mapping[str, Script]] = {
    "bash": Script(_BASH, "lbctl.bash", "lbctl completion bash > ~/.local/share/bash-completion/completions/lbctl"),
    "zsh": Script(_ZSH, "_lbctl", "lbctl completion zsh > ~/.zfunc/_lbctl"),
    "fish": Script(_FISH, "lbctl.fish", "lbctl completion fish > ~/.config/fish/completions/lbctl.fish"),
    "powershell": Script(_POWERSHELL, "lbctl.ps1", "lbctl completion powershell | Out-String | Invoke-Expression"),
}
