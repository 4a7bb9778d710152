// A script in the format of run.py, and the loop in which the oracles answer scripts: each line of
// standard input is a script, and gets one line on standard output.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

final class Script {
  interface Oracle {
    String run(Script script) throws Exception;
  }

  final String head;                                        // the first word, without its letter
  final TreeMap<Integer, String[]> tasks = new TreeMap<>();  // the parts between colons
  final List<List<String>> phases = new ArrayList<>();

  Script(String line) {
    String[] words = line.trim().split(" +");
    head = words[0].substring(1);
    int at = 1;
    for (; at < words.length && words[at].charAt(0) == 'T'; ++at) {
      String[] parts = words[at].substring(1).split(":", -1);
      tasks.put(Integer.parseInt(parts[0]), parts);
    }
    for (; at < words.length; ++at) {
      if (words[at].equals("|")) {
        phases.add(new ArrayList<>());
      } else {
        phases.get(phases.size() - 1).add(words[at]);
      }
    }
  }

  // Returns the operations of a task, which are its last part.
  static String[] operations(String[] parts) {
    String text = parts[parts.length - 1];
    return text.isEmpty() ? new String[0] : text.split(",");
  }

  static void answerAll(Oracle oracle) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    StringBuilder out = new StringBuilder();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.append(oracle.run(new Script(line))).append('\n');
    }
    System.out.print(out);
  }
}
