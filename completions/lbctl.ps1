# PowerShell completion of lbctl, made by: lbctl completion powershell

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
