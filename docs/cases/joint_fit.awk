# Which one setting explains all scenarios of a sweep best: reads the CSV of
#   orrery sweep FILE... --set FIELD=VALUES... --csv
# and prints, for each combination of settings, the root mean square of ln(predicted / measured) over throughput, memory
# and communication share of all files together, best first. Combinations that do not fit or are illegal for one
# of the files are left out (-v any=1 keeps those that do not fit). What a published memory or share means is not known, so each of
# both meanings is tried, one for all rows: -v memory=live|total -v share=total|exposed.
# -v free=FIELD,FIELD lets these fields differ from file to file: each file takes the value that fits it best.
# Scenario names must be without commas: fields are not unquoted here.
#   awk -f docs/cases/joint_fit.awk sweep.csv | sort -n | head
function value(name) { return $(column[name]) }
BEGIN {
  FS = ","
  if (memory == "") memory = "total"
  if (share == "") share = "exposed"
  n_free = split(free, names, ",")
  for (i = 1; i <= n_free; ++i) is_free[names[i]] = 1
}
FNR == 1 {
  for (i = 1; i <= NF; ++i) column[$i] = i
  next
}
{
  status = value("status")
  if (status == "illegal" || (status == "does not fit" && !any)) next
  key = ""; own = ""
  for (i = column["file"] + 1; i < column["status"]; ++i) {
    for (name in column) if (column[name] == i) field = name
    if (field in is_free) own = own " " field "=" $i
    else key = key " " field "=" $i
  }
  sum = 0; n = 0
  split("log_error.throughput log_error.memory_" memory " log_error.communication_" share, kinds, " ")
  for (k in kinds) if (value(kinds[k]) != "") { sum += value(kinds[k]) ^ 2; ++n }
  file = value("file")
  files[file] = 1; keys[key] = 1
  if (!((key, file) in best) || sum < best[key, file]) {
    best[key, file] = sum; count[key, file] = n; taken[key, file] = own
  }
}
END {
  for (key in keys) {
    sum = 0; n = 0; all = 1; own = ""
    for (file in files) {
      if (!((key, file) in best)) { all = 0; break }
      sum += best[key, file]; n += count[key, file]
      if (taken[key, file] != "") own = own "  [" file ":" taken[key, file] "]"
    }
    if (all && n > 0) printf "%.3f%s%s\n", sqrt(sum / n), key, own
  }
}
