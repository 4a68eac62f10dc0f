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
        delegate*) _lbctl_delegate "$about" ;;
        *nospace*) compopt -o nospace 2>/dev/null ;;
    esac
    case $about in *filenames*) compopt -o filenames 2>/dev/null ;; esac
}

# Another command begins within the line: bash-completion knows how to complete it, and bash what may be one.
_lbctl_delegate() {
    local place begin=0 line
    COMPREPLY=()
    for ((place = 1; place < COMP_CWORD; place++)); do
        [[ ${COMP_WORDS[place]} == -- ]] && begin=$((place + 1)) && break
    done
    if ((begin)) && declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$begin"
    elif ((begin)) && declare -F _command_offset >/dev/null; then
        _command_offset "$begin"
    elif [[ $1 == *command* ]]; then
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
    local program=${(Q)words[1]} word=$PREFIX about line shown
    local -a lines fields plain plain_shown open open_shown described
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
    local -i width=0
    for line in "${(@)lines[2,-1]}"; do
        fields=("${(@ps:\t:)line}")
        (( $#fields[2] > width )) && width=$#fields[2]
    done
    for line in "${(@)lines[2,-1]}"; do
        fields=("${(@ps:\t:)line}")
        shown=$fields[2]
        [[ -n $fields[4] ]] && shown="${(r:width:)shown}  -- $fields[4]" described=(-l)
        shown=${shown[1,COLUMNS-1]}
        if [[ $fields[1] == + ]]; then
            open+=("$fields[3]") open_shown+=("$shown")
        else
            plain+=("$fields[3]") plain_shown+=("$shown")
        fi
    done
    if [[ $about == *filenames* && $PREFIX == *\~* ]]; then # it stands for a directory, and is not to be quoted
        [[ $PREFIX == *=* ]] && compset -P '*='
        _files
        return
    fi
    local found=1
    (( $#plain )) && compadd $described -V lbctl -d plain_shown -a plain && found=0
    (( $#open )) && compadd $described -V lbctl -S '' -d open_shown -a open && found=0
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
        complete -C "'' $word" # it stands for a directory, and is not to be quoted
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
    $kept = ''
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
            # of a list PowerShell replaces no more than the part behind the last comma
            $isList = $element -is [System.Management.Automation.Language.ArrayLiteralAst]
            if ($isList -and $word.EndsWith($wordToComplete)) {
                $kept = $word.Substring(0, $word.Length - $wordToComplete.Length)
            }
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
        if ($kept) {
            $text = $text.Trim("'").Replace("''", "'")
            if (-not $text.StartsWith($kept) -or $text -eq $kept) { continue }
            $text = $text.Substring($kept.Length)
            if ($text -notmatch '^[\w.:=/+-]+$') { $text = "'" + $text.Replace("'", "''") + "'" }
        }
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
