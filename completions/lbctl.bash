# bash completion of lbctl, made by: lbctl completion bash

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
